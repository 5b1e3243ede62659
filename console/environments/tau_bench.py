"""tau-bench: an airline's and a shop's service desk; the tools that write to the database are critical."""

from console.environments.environment import Environment

TAU_BENCH = Environment(
    "tau-bench",
    "tau-bench",
    critical=(
        "book_reservation",
        "cancel_reservation",
        "send_certificate",
        "update_reservation_baggages",
        "update_reservation_flights",
        "update_reservation_passengers",
        "cancel_pending_order",
        "exchange_delivered_order_items",
        "modify_pending_order_address",
        "modify_pending_order_items",
        "modify_pending_order_payment",
        "modify_user_address",
        "return_delivered_order_items",
    ),
)
