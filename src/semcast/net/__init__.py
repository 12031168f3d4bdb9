"""Transport: the connections of a party, and the clock and the disk behind a machine.

``host`` has a party's connections and decides with ``admission`` who may go by which name; ``connection`` reads and
writes frames; ``runner`` drives one machine; ``view`` is what parties tell each other of the overlay. Nothing here
knows what is inside a machine or a message.
"""
