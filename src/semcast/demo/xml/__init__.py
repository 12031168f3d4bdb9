"""XML messages and XPath profiles, drawn from a schema.

Schema (news as in NITF; data, no code), DocumentGenerator, ProfileGenerator with its
Shape (the parameters of YFilter's evaluation), XmlWorkload (both, at a wanted number of matches).
Everything is drawn from a numpy Generator: same seed, same workload.
"""

from semcast.demo.xml.documents import DocumentGenerator
from semcast.demo.xml.news import NEWS
from semcast.demo.xml.profiles import ProfileGenerator, Shape
from semcast.demo.xml.schema import Schema
from semcast.demo.xml.workload import XmlWorkload

__all__ = ["NEWS", "DocumentGenerator", "ProfileGenerator", "Schema", "Shape", "XmlWorkload"]
