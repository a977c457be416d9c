"""What it costs to remember much: state of a stream on Spark."""
