def bench(names: list[str]) -> None:
    """placeholder"""
