"""WebShop: search a shop, choose options, buy."""

from console.environments.facts import Environment

WEBSHOP = Environment("webshop", "WebShop", critical=("click[Buy Now]",), not_executed=("Invalid action!",))
