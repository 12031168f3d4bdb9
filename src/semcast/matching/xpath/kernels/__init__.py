"""The compiled inner loops of the XPath engine: numbers and bytes in, numbers out.

``scanner`` (bytes → flat documents), ``texts`` (value tests on slices of bytes), ``tables`` (a text → who asks
for it), ``automaton`` (states made as they are met), ``walk`` (a document → hits) and ``verify`` (hits → matches).
Compiled once per machine and cached; none of them holds anything, all they know stands in arrays.
"""
