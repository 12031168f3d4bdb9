"""The live overlay: the machines of ``protocol`` on real clocks, disks and sockets.

What survives a crash: ``BrokerStore``, a broker's log, notes and incarnation in one SQLite file that one process owns,
and ``SqliteCoordinatorStore``, which the coordinators of a host share. Stores fulfil the interfaces of ``protocol.stores``; the simulator's stores in memory
are their reference. What a record or a note means is not known here.
"""

from semcast.net.broker_store import BrokerStore
from semcast.net.coordinator_store import SqliteCoordinatorStore
from semcast.net.database import StoreError

__all__ = ["BrokerStore", "SqliteCoordinatorStore", "StoreError"]
