"""The clients' side of the protocol: subscribers that survive gateways, publishers that survive sources."""
