"""What was found out on a user's own data as pages: one of a fit, one of a comparison."""

from mixpul.pages.fit import comparison_page, table_page
from mixpul.pages.numbers import readout

__all__ = ["comparison_page", "readout", "table_page"]
