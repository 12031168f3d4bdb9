"""Who decides on plans: what gateways ask for (``ledger``), who is alive (``overlay``), and the way of a plan from its
order to all brokers (``orders``, ``planner``, ``deployment``, ``rollout``)."""
