"""Auctions as in XMark: regions with items, people, and auctions that are open or closed."""

from __future__ import annotations

from semcast.demo.xml.schema import Attribute, Element, Schema, maybe, one, some
from semcast.demo.xml.values import Choice, Code, Day, Number, Words

_YEARS = (1998, 1999, 2000, 2001)
_REGIONS = ("namerica", "europe", "asia", "australia", "africa", "samerica")
_COUNTRIES = Choice("United_States Germany France Japan Italy Spain China Kenya Norway Peru India Brazil Poland")
_CITIES = Choice("Tampa Lyon Kyoto Dublin Macon Orlando Geneva Nairobi Lima Abidjan Warsaw Austin")
_NAMES = Choice("Alba Bonnet Cusworth Dagna Eskandar Farrar Gonda Hettesheimer Iyer Jurca Kitai Lorho Merle")
_YES = Choice(("No", "Yes"))
_PERSON, _ITEM, _CATEGORY, _AUCTION = (
    Code("person", 2_000),
    Code("item", 2_000),
    Code("category", 100),
    Code("open_auction", 1_000),
)
_MARKED = some(0.25, "bold", "keyword", "emph")
_PRICE = Number(1, 5_000, 2, skewed=True)
_REFERENCE = Element((), (Attribute("person", _PERSON),))
_TITLE = Words(2.0)

AUCTION = Schema(
    "auction",
    "site",
    {
        "site": Element(
            (
                *one("regions"),
                *maybe(0.3, "categories", "catgraph"),
                *one("people", "open_auctions"),
                *maybe(0.6, "closed_auctions"),
            )
        ),
        "regions": Element(maybe(0.35, *_REGIONS)),
        **{region: Element(some(0.4, "item", least=1)) for region in _REGIONS},
        "item": Element(
            (
                *one("location", "quantity", "name", "payment", "description"),
                *maybe(0.5, "shipping", "mailbox"),
                *some(0.6, "incategory", least=1),
            ),
            (Attribute("id", _ITEM), Attribute("featured", Choice(("yes", "no")), 0.15)),
        ),
        "location": Element(text=_COUNTRIES),
        "quantity": Element(text=Number(1, 10, skewed=True)),
        "name": Element(text=_TITLE),
        "payment": Element(text=Choice(("Cash", "Creditcard", "Check", "Money order", "Cash, Check"))),
        "shipping": Element(text=Choice(("buyer", "seller", "international", "within country"))),
        "incategory": Element((), (Attribute("category", _CATEGORY),)),
        "description": Element((*maybe(0.6, "text"), *maybe(0.45, "parlist"))),
        "parlist": Element(some(0.6, "listitem", least=1)),
        "listitem": Element((*maybe(0.7, "text"), *some(0.2, "parlist"))),
        "text": Element(_MARKED, (), Words(1.6)),
        "bold": Element(some(0.15, "bold", "keyword", "emph"), (), Words(1.2)),
        "keyword": Element(some(0.15, "bold", "keyword", "emph"), (), Words(1.2)),
        "emph": Element(some(0.15, "bold", "keyword", "emph"), (), Words(1.2)),
        "mailbox": Element(some(0.6, "mail")),
        "mail": Element(one("from", "to", "date", "text")),
        "from": Element(text=_NAMES),
        "to": Element(text=_NAMES),
        "date": Element(text=Day(_YEARS)),
        "categories": Element(some(0.6, "category", least=1)),
        "category": Element(one("name", "description"), (Attribute("id", _CATEGORY),)),
        "catgraph": Element(some(1.0, "edge")),
        "edge": Element((), (Attribute("from", _CATEGORY), Attribute("to", _CATEGORY))),
        "people": Element(some(0.8, "person", least=1)),
        "person": Element(
            (
                *one("name", "emailaddress"),
                *maybe(0.5, "phone", "address", "profile"),
                *maybe(0.3, "homepage", "creditcard", "watches"),
            ),
            (Attribute("id", _PERSON),),
        ),
        "emailaddress": Element(text=Code("mailto:a", 300)),
        "phone": Element(text=Number(1_000_000, 9_999_999)),
        "homepage": Element(text=Code("http://h", 300)),
        "creditcard": Element(text=Number(1000, 9999)),
        "address": Element((*one("street", "city", "country"), *maybe(0.3, "province"), *one("zipcode"))),
        "street": Element(text=Code("St ", 100)),
        "city": Element(text=_CITIES),
        "province": Element(text=Choice(("Vermont", "Ohio", "Texas", "Utah", "Maine"))),
        "country": Element(text=_COUNTRIES),
        "zipcode": Element(text=Number(1, 60, skewed=True)),
        "profile": Element(
            (*some(0.7, "interest"), *maybe(0.5, "education", "gender", "age"), *one("business")),
            (Attribute("income", Number(9_000, 200_000, 2, skewed=True), 0.7),),
        ),
        "interest": Element((), (Attribute("category", _CATEGORY),)),
        "education": Element(text=Choice(("High School", "College", "Graduate School", "Other"))),
        "gender": Element(text=Choice(("male", "female"), 0.0)),
        "business": Element(text=_YES),
        "age": Element(text=Number(18, 80, skewed=True)),
        "watches": Element(some(0.7, "watch", least=1)),
        "watch": Element((), (Attribute("open_auction", _AUCTION),)),
        "open_auctions": Element(some(0.8, "open_auction", least=1)),
        "open_auction": Element(
            (
                *one("initial"),
                *maybe(0.4, "reserve", "privacy"),
                *some(1.0, "bidder"),
                *one("current", "itemref", "seller", "annotation", "quantity", "type", "interval"),
            ),
            (Attribute("id", _AUCTION),),
        ),
        "initial": Element(text=_PRICE),
        "reserve": Element(text=_PRICE),
        "current": Element(text=_PRICE),
        "privacy": Element(text=_YES),
        "bidder": Element(one("date", "time", "personref", "increase")),
        "time": Element(text=Number(0, 2_359)),
        "personref": _REFERENCE,
        "increase": Element(text=Number(1.5, 60, 2, skewed=True)),
        "itemref": Element((), (Attribute("item", _ITEM),)),
        "seller": _REFERENCE,
        "buyer": _REFERENCE,
        "author": _REFERENCE,
        "annotation": Element((*one("author"), *maybe(0.6, "description"), *one("happiness"))),
        "happiness": Element(text=Number(1, 10)),
        "type": Element(text=Choice(("Regular", "Featured", "Regular, Dutch", "Featured, Dutch"))),
        "interval": Element(one("start", "end")),
        "start": Element(text=Day(_YEARS)),
        "end": Element(text=Day(_YEARS)),
        "closed_auctions": Element(some(0.5, "closed_auction", least=1)),
        "closed_auction": Element(
            (*one("seller", "buyer", "itemref", "price", "date", "quantity", "type"), *maybe(0.5, "annotation"))
        ),
        "price": Element(text=_PRICE),
    },
)
