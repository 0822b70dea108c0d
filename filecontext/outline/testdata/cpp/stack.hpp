#pragma once
#include <vector>
#include "base.h"

using namespace std;
using Clock = std::chrono::steady_clock;

namespace shop::detail {

template <typename T, std::size_t N = 16>
class Stack final : public Base<T>, private Counted {
public:
    using value_type = T;
    static constexpr int kLimit = 5;
    enum class State : unsigned char { Open, Closed };

    struct Iterator {
        T& operator*() const { return *at; }
        Iterator& operator++();
        bool operator==(const Iterator& other) const = default;
        T* at;
    };

    explicit Stack(std::initializer_list<T> values) : Base<T>(values), count{0} { fill(values); }
    Stack(const Stack&) = delete;
    virtual ~Stack() noexcept;

    template <class U>
    auto push(U&& value) -> decltype(auto);
    [[nodiscard]] virtual const T& top() const override = 0;
    operator bool() const { return count > 0; }
    friend std::ostream& operator<<(std::ostream& out, const Stack& s);

private:
    T values[N];
    std::size_t count = 0;
    void (*callback)(int);
};

template <typename T>
concept Hashable = requires(T a) { { std::hash<T>{}(a) } -> std::convertible_to<std::size_t>; };

template <Hashable K>
struct Key { K value; };

union Bits { int i; float f; };

enum Color { Red, Green };

inline namespace v2 {
constexpr double kRate = 0.19;
extern Registry registry;
}

namespace {
int hidden(int x) { return helper(x); }
}

}  // namespace shop::detail

extern "C" {
int c_entry(int argc, char** argv);
}

template <typename T>
T maximum(T a, T b) { return a > b ? a : b; }
template <>
int maximum<int>(int a, int b) { return pick(a, b); }

class Größe { public: int länge() const; };
