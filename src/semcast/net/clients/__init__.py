"""What clients are made of, whether they sit behind a socket or within a gateway's process."""
