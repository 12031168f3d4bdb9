"""What survives a crash: a broker's log and notes, and what coordinators share.

A log is a file of *segments*, cut into checksummed *chunks*, with its index and the broker's notes in SQLite
(``broker_store``); ``damage`` says what of it is still good. Coordinators share SQLite on one machine
(``coordinator_store``) or PostgreSQL on several (``postgres_store``). All fulfil the interfaces of ``protocol.stores``.
Nothing here knows a socket or a machine.
"""
