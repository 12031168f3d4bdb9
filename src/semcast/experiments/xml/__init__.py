"""XML messages and XPath profiles for experiments, drawn from schemas of our own.

Schema (news as in NITF, auctions as in XMark; data, no code), DocumentGenerator, ProfileGenerator with its
Shape (the parameters of YFilter's evaluation), XmlWorkload (both, at a wanted number of matches).
Everything is drawn from a numpy Generator: same seed, same workload.
"""

from semcast.experiments.xml.auction import AUCTION
from semcast.experiments.xml.documents import DocumentGenerator
from semcast.experiments.xml.news import NEWS
from semcast.experiments.xml.profiles import ProfileGenerator, Shape
from semcast.experiments.xml.schema import Schema
from semcast.experiments.xml.workload import XmlWorkload

SCHEMAS = {schema.name: schema for schema in (NEWS, AUCTION)}

__all__ = ["SCHEMAS", "DocumentGenerator", "ProfileGenerator", "Schema", "Shape", "XmlWorkload"]
