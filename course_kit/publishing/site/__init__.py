"""The executed lessons as a static site that needs neither a kernel nor a network."""

from course_kit.publishing.site.build import SITE, course, export_html, pages, write_site
from course_kit.publishing.site.cleaning import clean_html

__all__ = ["SITE", "clean_html", "course", "export_html", "pages", "write_site"]
