"""The data pipeline on Spark: the only package that imports pyspark.

session (a SparkSession that needs nothing installed), match (profiles over a DataFrame), route (a plan's
channels over a DataFrame), SemcastDataSource (``format("semcast")``: DataFrames out to an overlay's streams, and
subscriptions in). Knows DataFrames, files and Spark; what a profile means is decided in ``profiles`` and ``matching``.
"""

from semcast.model.extras import needed

with needed("spark", "semcast.pipeline"):
    from semcast.pipeline.datasource import SemcastDataSource
    from semcast.pipeline.match import match
    from semcast.pipeline.route import route
    from semcast.pipeline.session import session

__all__ = ["SemcastDataSource", "match", "route", "session"]
