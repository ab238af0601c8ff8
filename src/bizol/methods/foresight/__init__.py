"""The default method: forecasts of the response, and φ minimized through them."""
