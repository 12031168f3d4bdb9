"""Chart corrections: interest profiles as trees of names and values, over the content descriptors of packets.

semcast up examples/up.toml
SEMCAST_URL=127.0.0.1:7400 python examples/charts.py
"""

import asyncio

import semcast

MAP = "http://schema.SemanticRouting.net/map/1.0"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
BALTIC = f'prefix m <{MAP}>; m:map {{m:chart_correction {{m:region {{m:id = "3"; m:subregion {{m:id = "31"}}}}}}}}'


def correction(chart: str) -> str:
    """A descriptor of one chart: its first digit is the region, its first two are the subregion."""
    inner = f"<m:subregion><m:id>{chart[:2]}</m:id><m:chart><m:id>{chart}</m:id></m:chart></m:subregion>"
    region = f"<m:region><m:id>{chart[0]}</m:id>{inner}</m:region>"
    about = f"<rdf:Description><m:map><m:chart_correction>{region}</m:chart_correction></m:map></rdf:Description>"
    return f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:m="{MAP}">{about}</rdf:RDF>'


async def main() -> None:
    async with semcast.connect() as client:
        wanted = client.subscribe("charts", BALTIC, max_delay_ms=500)
        await wanted.live()
        for chart in ("12001", "31007", "32004", "31110"):
            await client.publish("charts", correction(chart), headers={"chart": chart})
        for _ in range(2):
            message = await anext(wanted)
            print("correct chart", message.headers["chart"])
        print(f"the oldest was {wanted.staleness.worst_ms:.0f} ms old, and 500 ms were asked for")


asyncio.run(main())
