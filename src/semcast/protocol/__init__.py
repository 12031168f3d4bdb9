"""The protocol as machines without input or output: ``handle(event, now) -> commands``.

A *node* is what runs at one broker: a ``broker``, which forwards along trees, and maybe a ``source``, which takes
messages in, and a ``gateway``, which serves clients. *Coordinators* decide on plans. Subscribers and publishers
(``client``) are the clients' side, and ``semnet`` forwards by content at every hop instead. The simulator and the live
overlay drive the same machines: ``contract`` is what they agree on, ``wire`` what travels, ``stores`` what survives a
crash. Nothing here knows a socket, a clock or a file.
"""
