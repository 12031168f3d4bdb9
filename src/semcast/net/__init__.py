"""The live overlay: the protocol's machines on real sockets, real disks and real time.

``host`` has the connections of a party, ``broker`` and ``coordinator`` are parties, ``runner`` drives a machine,
``clients`` publish and subscribe, ``mqtt`` lets others do so, and the stores (``broker_store``, ``coordinator_store``,
``postgres_store``) fulfil the interfaces of ``protocol.stores`` for good; the simulator's stores in memory are their
reference.
"""
