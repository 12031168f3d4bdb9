"""Quotes: several people want different parts of one stream, each with a profile over its attributes.

semcast up examples/up.toml                            # in one terminal; it tells where it listens
SEMCAST_URL=127.0.0.1:7400 python examples/quotes.py   # in another
"""

import asyncio

import semcast
from semcast.client import Subscription

PROFILES = {
    "anna": "symbol = 'IBM' AND price > 90",
    "ben": "price BETWEEN 80 AND 100",
    "carla": "symbol IN ('SAP', 'IBM') OR volume > 1000000",
}
QUOTES = [
    {"symbol": "IBM", "price": 95.5, "volume": 300},
    {"symbol": "SAP", "price": 120.0, "volume": 500},
    {"symbol": "ORC", "price": 85.0, "volume": 200},
    {"symbol": "ORC", "price": 60.0, "volume": 2_000_000},
    {"symbol": "END", "price": 99.0, "volume": 9_999_999},
]


async def watch(name: str, quotes: Subscription) -> None:
    async for message in quotes:
        quote = message.json()
        if quote["symbol"] == "END":
            return
        print(f"{name:6} {quote['symbol']} at {quote['price']}, volume {quote['volume']}")


async def main() -> None:
    async with semcast.connect() as client:
        asked = {name: client.subscribe("quotes", f"{text} OR symbol = 'END'") for name, text in PROFILES.items()}
        await asyncio.gather(*(quotes.live() for quotes in asked.values()))
        watching = [asyncio.create_task(watch(name, quotes)) for name, quotes in asked.items()]
        for quote in QUOTES:
            await client.publish("quotes", quote)  # returns when it is on disk
        await asyncio.gather(*watching)


asyncio.run(main())
