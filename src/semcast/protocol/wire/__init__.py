"""What travels: ``frames`` as data, ``codec`` and ``framing`` as bytes, ``senders``: who may send what."""
