"""Schemas that XPath is measured with: news as in NITF, and auctions as in XMark."""

from __future__ import annotations

from semcast.demo.xml import NEWS
from semcast_experiments.workloads.auction import AUCTION

SCHEMAS = {schema.name: schema for schema in (NEWS, AUCTION)}
