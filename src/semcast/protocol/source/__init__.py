"""Where messages enter: matched once by the plan that the source follows, logged, sent, and repaired from the log."""
