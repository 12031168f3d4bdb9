"""XML messages and XPath profiles for experiments, drawn from schemas of our own.

Schema (news as in NITF, auctions as in XMark; data, no code), DocumentGenerator, ProfileGenerator with its
Shape (the parameters of YFilter's evaluation), XmlWorkload (both, at a wanted number of matches).
Everything is drawn from a numpy Generator: same seed, same workload.
"""

from semcast.demo.xml.auction import AUCTION
from semcast.demo.xml.documents import DocumentGenerator
from semcast.demo.xml.news import NEWS
from semcast.demo.xml.profiles import ProfileGenerator, Shape
from semcast.demo.xml.schema import Schema
from semcast.demo.xml.workload import XmlWorkload

SCHEMAS = {schema.name: schema for schema in (NEWS, AUCTION)}

__all__ = ["SCHEMAS", "DocumentGenerator", "ProfileGenerator", "Schema", "Shape", "XmlWorkload"]
