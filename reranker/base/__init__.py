"""What every part uses: errors, the context of a request."""
