"""The system boundary: what a GPU driver was asked, what it answered, what the framework made of it."""
