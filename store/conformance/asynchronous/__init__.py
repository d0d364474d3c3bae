"""The contracts for the asynchronous faces: written here; the synchronous ones are generated from them."""
