"""Front ends: host source in Python, C or C++ to the host program. They know names, not OpenCL."""

TOO_DEEP = "nested too deeply to analyse"


class SyntaxProblem(ValueError):
    """The source is not valid in its language, or nested too deeply to analyse; says where, in one line."""

    def __init__(self, row: int, message: str) -> None:
        super().__init__(row, message)
        self.row = row
        self.message = message

    def __str__(self) -> str:
        return f"line {self.row}: {self.message}"
