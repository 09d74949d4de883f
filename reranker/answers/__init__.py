"""What the service answers: each JSON object is declared once, here.

Search and ranking make these objects, the routes write them as JSON, and OpenAPI is made from their fields.
"""
