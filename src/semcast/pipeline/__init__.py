"""SemCast on Spark: the one package that imports pyspark.

A *session* is a running Spark, set up so that profiles mean there what they mean here (``session.py``);
it brings its own *Java* where the machine has none (``java.py``) and forks its Python workers from a
*daemon* that has the matching kernels loaded (``daemon.py``).
"""
