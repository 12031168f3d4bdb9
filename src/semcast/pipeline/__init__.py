"""The data pipeline on Spark: the only package that imports pyspark.

session (a SparkSession that needs nothing installed), match (profiles over a DataFrame). Knows
DataFrames, files and Spark; what a profile means is decided in ``profiles`` and ``matching``.
"""

from semcast.pipeline.match import match
from semcast.pipeline.session import session

__all__ = ["match", "session"]
