from recdemo.report.columns import Column, pipes


def test_a_markdown_cell_holds_bars_and_new_lines():
    column = Column("Item", False, ("a | b", "two\nlines"))
    assert pipes([column]) == "| Item |\n| --- |\n| a \\| b |\n| two lines |"
