"""Places for the applications that Tenure knows to work under; each has install() and uninstall()."""
