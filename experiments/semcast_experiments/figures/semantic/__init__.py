"""The evaluation of the *thesis*, a file per figure or table: chart corrections, and what routers of them cost.

``charts`` draws packets and interests; ``load`` measures one router, ``network`` many on the virtual clock; ``setup``
has the trials that figures share; ``fits`` are straight lines with their errors.
"""
