"""The compiled inner loops of the XPath engine: numbers and bytes in, numbers out.

``scanner`` (bytes → flat documents), ``texts`` (value tests on slices of bytes), ``automaton`` (states made as they are
met), ``walk`` (a document → visits), ``lookup`` and ``memory`` (visits → atoms that are met), ``watch`` (atoms →
conditions that may hold) and ``verify`` (which of them do).
Compiled once per machine and cached; none of them holds anything, all they know stands in arrays.
"""
