"""XML news: XPath profiles over whole documents; the same session goes on where it was, however often it is run.

semcast up examples/up.toml
SEMCAST_URL=127.0.0.1:7400 python examples/news.py
"""

import semcast

STORIES = [
    "<story desk='sport'><headline>Rowers win on the river</headline><place>Oslo</place></story>",
    "<story desk='money'><headline>Rates stay where they are</headline><amount unit='pct'>2.5</amount></story>",
    "<story desk='money'><headline>River freight is dear</headline><amount unit='eur'>12000</amount></story>",
]
PROFILE = "/story[@desk = 'money']//amount[@unit = 'eur' and . > 10000] or //headline[contains(., 'Rowers')]"

with semcast.connect_blocking() as client:
    stories = client.subscribe("news", PROFILE, session="newsroom")  # durable: nothing is missed while away
    for story in STORIES:
        client.publish("news", story)
    found = [next(stories).payload.decode() for _ in range(2)]
    stories.close(keep=True)
for story in found:
    print(story)
