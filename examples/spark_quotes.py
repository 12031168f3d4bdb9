"""Quotes from Spark into an overlay, and the expensive ones back into Spark.

    semcast up examples/up.toml
    SEMCAST_URL=semcast://127.0.0.1:PORT python examples/spark_quotes.py FOLDER

Every cell can be run again, also after the process was killed: both queries go on from their checkpoints.
"""

# %% Spark, with format("semcast"); in a session of your own: spark.dataSource.register(SemcastDataSource)
import sys
from pathlib import Path

from pyspark.sql import functions as F

from semcast.pipeline import session

spark = session("quotes")
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/spark_quotes")

# %% Subscribe: the columns are the stream's, and from the first run on nothing that matches is missed
expensive = spark.readStream.format("semcast").options(stream="quotes", profile="price > 990").load()
expensive.printSchema()


def take():
    query = expensive.writeStream.format("parquet").option("checkpointLocation", str(folder / "taken"))
    query.trigger(availableNow=True).start(str(folder / "expensive")).awaitTermination()


take()

# %% Publish any frame, once
quotes = spark.range(1000).select(
    F.concat(F.lit("S"), F.col("id") % 7).alias("symbol"),
    F.col("id").cast("double").alias("price"),
    (F.col("id") * 100).alias("volume"),
)
quotes.write.format("semcast").options(stream="quotes").mode("append").save()

# %% Publish a stream: each row once, whatever is killed and repeated
ticks = spark.readStream.format("rate").options(rowsPerSecond=200, numPartitions=2).load()
ticks = ticks.select(
    F.lit("TICK").alias("symbol"), (F.col("value") + 991.0).alias("price"), F.col("value").alias("volume")
)
query = ticks.writeStream.format("semcast").options(stream="quotes", checkpointLocation=str(folder / "put")).start()
while not any(progress["numInputRows"] for progress in query.recentProgress):
    query.awaitTermination(1)
query.stop()

# %% What came back
take()
found = spark.read.parquet(str(folder / "expensive"))
found.groupBy("symbol").agg(F.count("*").alias("quotes"), F.max("price")).orderBy("symbol").show()
