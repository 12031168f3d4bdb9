"""The evaluations of *SemCast 2004*, a file per figure: the workshop paper (long) and its shorter version."""
