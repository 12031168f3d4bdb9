"""The evaluation of *SemCast 2005*, a file per figure or table; Figure 10 is in ``experiments.trees``.

Every figure is a function of a Run that gives what the page needs. ``setup`` has the sizes and the models they share.
"""
