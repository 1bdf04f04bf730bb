"""What commands show: text, progress, the course of a discovery."""
