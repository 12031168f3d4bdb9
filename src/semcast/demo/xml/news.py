"""News as in NITF, the format of news agencies: a head that describes and a body of blocks in blocks."""

from __future__ import annotations

from semcast.demo.xml.schema import Attribute, Element, Schema, maybe, one, some
from semcast.demo.xml.values import Choice, Code, Day, Number, Words

_YEARS = (2023, 2024, 2025)
_SUBJECTS = Choice(
    "politics economy sport weather conflict crime health science arts education labour religion leisure"
)
_COUNTRIES = Choice("USA GBR DEU FRA CHN IND JPN BRA ITA ESP CAN RUS ZAF KOR MEX NGA AUS TUR EGY POL")
_CITIES = Choice("London Paris Berlin Rome Tokyo Delhi Lagos Cairo Lima Oslo Madrid Sydney Boston Seoul Vienna")
_STATES = Choice("NY CA TX FL MA IL WA OH GA PA")
_NAMES = Choice(
    "Adams Baker Chen Diaz Evans Fischer Garcia Haddad Ito Jansen Khan Lopez Meyer Novak Okafor Patel Quinn Rossi "
    "Silva Tanaka Umar Varga Weber Xu Young Zeman"
)
_COMPANIES = Choice("IBM SAP AT&T Shell Toyota Siemens Nestle Sony Boeing Bayer Unilever Volvo")
_YES = Choice(("no", "yes"))
_WORDS, _TITLE = Words(1.5), Words(2.5)
_INLINE = some(0.25, "em", "person", "org", "location", "money", "q")

NEWS = Schema(
    "news",
    "nitf",
    {
        "nitf": Element(one("head", "body")),
        "head": Element((*one("title"), *some(0.5, "meta"), *one("tobject", "docdata"), *some(0.4, "pubdata"))),
        "title": Element(text=_TITLE),
        "meta": Element((), (Attribute("name", Choice(("desk", "source", "edition"))), Attribute("content", _WORDS))),
        "tobject": Element(
            (*maybe(0.3, "tobject.property"), *some(0.7, "tobject.subject", least=1)),
            (Attribute("tobject.type", Choice(("news", "feature", "analysis", "data"))),),
        ),
        "tobject.property": Element(
            (), (Attribute("tobject.property.type", Choice(("current", "update", "archive"))),)
        ),
        "tobject.subject": Element(
            (),
            (
                Attribute("tobject.subject.type", _SUBJECTS),
                Attribute("tobject.subject.refnum", Number(1_000_000, 17_000_000, skewed=True), 0.3),
            ),
        ),
        "docdata": Element(
            (
                *one("doc-id", "urgency"),
                *maybe(0.6, "date.issue", "date.release", "key-list"),
                *maybe(0.3, "doc.copyright", "identified-content"),
            )
        ),
        "doc-id": Element((), (Attribute("id-string", Code("doc", 5_000)), Attribute("regsrc", _COMPANIES, 0.3))),
        "urgency": Element((), (Attribute("ed-urg", Number(1, 8)),)),
        "date.issue": Element((), (Attribute("norm", Day(_YEARS)),)),
        "date.release": Element((), (Attribute("norm", Day(_YEARS)),)),
        "doc.copyright": Element((), (Attribute("holder", _COMPANIES), Attribute("year", Number(2023, 2025)))),
        "key-list": Element(some(1.5, "keyword", least=1)),
        "keyword": Element((), (Attribute("key", _WORDS),)),
        "identified-content": Element(some(0.6, "person", "org", "location")),
        "pubdata": Element(
            (),
            (
                Attribute("type", Choice(("print", "web", "audio"))),
                Attribute("item-length", Number(50, 5_000, skewed=True), 0.6),
                Attribute("name", _COMPANIES, 0.4),
            ),
        ),
        "body": Element((*one("body.head"), *one("body.content"), *maybe(0.5, "body.end"))),
        "body.head": Element((*one("hedline"), *maybe(0.7, "byline", "dateline"), *maybe(0.4, "abstract", "note"))),
        "hedline": Element((*one("hl1"), *some(0.5, "hl2"))),
        "hl1": Element((), (Attribute("id", Code("h", 50), 0.2),), _TITLE),
        "hl2": Element(text=_TITLE),
        "note": Element(
            some(0.5, "p", least=1), (Attribute("noteclass", Choice(("cpyrt", "end", "hd", "editorsnote"))),)
        ),
        "byline": Element((*one("person"), *maybe(0.5, "byttl"))),
        "byttl": Element(text=Choice(("reporter", "correspondent", "editor", "analyst"))),
        "dateline": Element((*one("location"), *maybe(0.6, "story.date"))),
        "story.date": Element((), (Attribute("norm", Day(_YEARS)),)),
        "abstract": Element(some(0.4, "p", least=1)),
        "body.content": Element((*some(1.5, "block", least=1), *some(0.8, "p"), *some(0.3, "media", "ol", "bq"))),
        "block": Element(
            (*some(1.6, "p", least=1), *some(0.25, "block", "media", "ol", "bq")),
            (Attribute("id", Code("b", 200), 0.4), Attribute("style", Choice(("lead", "side", "fact")), 0.3)),
        ),
        "bq": Element((*some(0.3, "block", least=1), *maybe(0.4, "credit"))),
        "credit": Element(text=_NAMES),
        "p": Element(_INLINE, (Attribute("lede", Choice(("false", "true")), 0.25),), _WORDS),
        "em": Element(some(0.1, "em", "person"), (), _WORDS),
        "q": Element(some(0.2, "em", "person"), (Attribute("quote-source", _NAMES, 0.4),), _WORDS),
        "person": Element((), (Attribute("value", _NAMES, 0.3), Attribute("gender", Choice(("f", "m")), 0.2)), _NAMES),
        "org": Element((), (Attribute("idsrc", Choice(("nyse", "nasdaq", "lse")), 0.4),), _COMPANIES),
        "location": Element((*maybe(0.6, "city", "country"), *maybe(0.25, "state", "region"))),
        "city": Element((), (Attribute("city-code", Code("c", 100), 0.2),), _CITIES),
        "state": Element(text=_STATES),
        "region": Element(text=Choice(("north", "south", "east", "west", "coast"))),
        "country": Element((), (Attribute("iso-cc", _COUNTRIES, 0.6),), _COUNTRIES),
        "money": Element(
            (), (Attribute("unit", Choice(("USD", "EUR", "GBP", "JPY", "CNY"))),), Number(1, 9_999, skewed=True)
        ),
        "ol": Element(some(1.0, "li", least=1), (Attribute("seqnum", Number(1, 20, skewed=True), 0.4),)),
        "li": Element((*some(0.2, "em", "ol", "person"),), (), _WORDS),
        "media": Element(
            (*some(0.4, "media-reference", least=1), *maybe(0.7, "media-caption"), *maybe(0.4, "media-producer")),
            (Attribute("media-type", Choice(("image", "video", "audio", "graphic"))),),
        ),
        "media-reference": Element(
            (),
            (
                Attribute("mime-type", Choice(("image/jpeg", "image/png", "video/mp4", "audio/mpeg"))),
                Attribute("width", Number(80, 4_000, skewed=True), 0.6),
                Attribute("height", Number(60, 3_000, skewed=True), 0.6),
            ),
        ),
        "media-caption": Element(some(0.5, "p"), (), _WORDS),
        "media-producer": Element(some(0.3, "org"), (), _NAMES),
        "body.end": Element((*maybe(0.7, "tagline"), *maybe(0.3, "bibliography"))),
        "tagline": Element(text=_WORDS),
        "bibliography": Element((), (Attribute("complete", _YES, 0.5),), _WORDS),
    },
)
