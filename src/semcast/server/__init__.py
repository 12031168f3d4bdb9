"""The processes of an overlay: brokers, coordinators, and the fronts through which others come (``http``, ``mqtt``).

``config`` reads a deployment's file, ``embedded`` runs all of it in one process and ``processes`` in many. ``broker``
and ``coordinator`` put a machine on sockets and disks; ``local`` and ``near`` are clients within a broker's process,
for the fronts.
"""
