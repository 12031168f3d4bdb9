"""SemCast as a data source of Spark: ``format("semcast")``."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    SimpleDataSourceStreamReader,
)
from pyspark.sql.types import StructType

from semcast.pipeline.options import Where, overlay_of
from semcast.pipeline.publishing import BatchPublisher, StreamPublisher
from semcast.pipeline.rows import columns_of
from semcast.pipeline.subscribing import BatchSubscriber, StreamSubscriber


class SemcastDataSource(DataSource):
    """Publish DataFrames to a stream of a running overlay, and subscribe to one.

    In a session that is not ``semcast.pipeline.session``'s: ``spark.dataSource.register(SemcastDataSource)``.
    """

    @classmethod
    def name(cls) -> str:
        return "semcast"

    def schema(self) -> StructType:
        return columns_of(overlay_of(Where.of(self.options)).declared)

    def reader(self, schema: StructType) -> DataSourceReader:
        return BatchSubscriber(self.options, schema)

    def simpleStreamReader(self, schema: StructType) -> SimpleDataSourceStreamReader:
        return StreamSubscriber(self.options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        return BatchPublisher(self.options, schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        return StreamPublisher(self.options, schema)


def register(spark: SparkSession) -> SparkSession:
    """Make ``format("semcast")`` known to a session."""
    spark.dataSource.register(SemcastDataSource)
    return spark
