"""What is known of a user's own data as pages: a fit, a comparison, a review, an audit, a watch."""

from mixpul.pages.audit import render_audit_page
from mixpul.pages.comparison import render_comparison_page
from mixpul.pages.fit import render_fit_page, render_fit_summary
from mixpul.pages.monitor import render_monitor_page
from mixpul.pages.review import render_review_page
from mixpul.pages.thresholds import describe_threshold

__all__ = [
    "describe_threshold",
    "render_audit_page",
    "render_comparison_page",
    "render_fit_page",
    "render_fit_summary",
    "render_monitor_page",
    "render_review_page",
]

# The names that the pages had before.
table_page, comparison_page = render_fit_page, render_comparison_page
