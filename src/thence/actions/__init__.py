"""What is done with results: payloads are made, delivered, tried again, and kept if all fails."""
