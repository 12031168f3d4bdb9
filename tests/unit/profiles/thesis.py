"""The thesis' figures, as they were meant: the scan's typos mended, one namespace for concerts."""

from __future__ import annotations

CONCERT = "http://schema.concerts.org/concert/1.0"
MAP = "http://schema.SemanticRouting.net/map/1.0"
RDF = "http://www.w3.org/TR/WD-rdf-syntax#"
IP = "http://schema.SemanticRouting.net/ip/1.0"

FIGURE_3_2 = f"""<rdf:RDF xmlns:rdf="{RDF}" xmlns:d="{CONCERT}">
  <rdf:Description>
    <d:Artist>Joe Doe</d:Artist>
    <d:Locale>
      <d:Venue>Concert Hall</d:Venue>
      <d:Position latitude="40.48640" longitude="-74.4"/>
      <d:City>New Brunswick</d:City>
      <d:Date>7/4/2001</d:Date>
      <d:Time>8pm</d:Time>
    </d:Locale>
    <d:Genre>Jazz</d:Genre>
  </rdf:Description>
</rdf:RDF>"""

FIGURE_3_3 = f"""<?xml version="1.0" encoding="UTF-8"?>
<Packet xmlns="http://schema.SemanticRouting.net/sr/1.0">
  <Content-Descriptor>
    {FIGURE_3_2}
  </Content-Descriptor>
  <Payload content-type="text/html"><![CDATA[<html>
    <head><title>New Jersey Jazz Club</title></head>
    <body><h1>A night full of Jazz music by Joe Doe</h1></body>
  </html>]]></Payload>
</Packet>"""


def figure_3_4(within: float = 10, units: str = "mile", concert: str = CONCERT) -> str:
    return f"""<ip:IP xmlns:ip="{IP}" xmlns:d="{concert}">
  <ip:And>
    <d:Locale>
      <d:Position>
        <ip:distance within="{within}" units="{units}" latitude="40" longitude="-74.4"/>
      </d:Position>
    </d:Locale>
    <d:Genre>
      <ip:Or>
        <ip:string-match>Jazz</ip:string-match>
        <ip:string-match>Rock</ip:string-match>
      </ip:Or>
    </d:Genre>
  </ip:And>
</ip:IP>"""


FIGURE_5_2 = f"""<?xml version="1.0" encoding="UTF-8"?>
<rdf:RDF xmlns:rdf="{RDF}"
    xmlns:op="http://schema.SemanticRouting.net/operations/1.0"
    xmlns:m="{MAP}">
  <rdf:Description>
    <m:map>
      <m:chart_correction>
        <op:or>
          <m:region>
            <m:id><op:string-match>2</op:string-match></m:id>
            <m:subregion>
              <m:id><op:string-match>24</op:string-match></m:id>
            </m:subregion>
          </m:region>
          <m:region>
            <m:id><op:string-match>6</op:string-match></m:id>
            <m:subregion>
              <m:id><op:string-match>67</op:string-match></m:id>
              <m:chart>
                <m:id><op:string-match>67888</op:string-match></m:id>
              </m:chart>
            </m:subregion>
          </m:region>
        </op:or>
      </m:chart_correction>
    </m:map>
  </rdf:Description>
</rdf:RDF>"""


def correction(region: str, subregion: str = "", chart: str = "", space: str = MAP) -> str:
    """A descriptor as the subscribers of Figure 5.2 get it."""
    inner = f"<m:chart><m:id>{chart}</m:id></m:chart>" if chart else ""
    inner = f"<m:subregion><m:id>{subregion}</m:id>{inner}</m:subregion>" if subregion else ""
    return f"""<rdf:RDF xmlns:rdf="{RDF}" xmlns:m="{space}"><rdf:Description><m:map><m:chart_correction>
      <m:region><m:id>{region}</m:id>{inner}</m:region>
    </m:chart_correction></m:map></rdf:Description></rdf:RDF>"""
