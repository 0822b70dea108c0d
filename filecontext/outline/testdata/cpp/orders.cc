#include "orders.h"

namespace shop {

const int kMax = 3;
static std::map<std::string, Handler> handlers = {
    {"open", open_order},
};

Order::Order(std::string id) : id_(std::move(id)) { registerOrder(*this); }
Order::~Order() = default;

std::optional<Line> Order::find(const std::string& key) const& noexcept {
    auto cmp = [](const Line& l) { return l.ok(); };
    return findLine(lines_, key);
}

template <typename T>
void Stack<T>::push(T value) { values_.push_back(value); }

Line* const& Order::Inner::first(int) { return head; }
Order& Order::operator=(const Order& other) { return assign(other); }
Order::operator bool() const { return true; }
bool operator<(const Line& a, const Line& b) { return a.price < b.price; }

auto make() -> std::unique_ptr<Order> { return std::make_unique<Order>("x"); }

void broken(int a, {
    if (a > {

int Order::after(Größe g) {
    return measure(g);
}

class Half {
    void one();
    int two(int x) { return x;
