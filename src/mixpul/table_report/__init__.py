"""What was found out on a user's own table as pages: one of a fit, one of a comparison."""

from mixpul.table_report._numbers import readout
from mixpul.table_report._pages import comparison_page, table_page

__all__ = ["comparison_page", "readout", "table_page"]
