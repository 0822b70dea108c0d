using System;
using System.Collections.Generic;
using static System.Math;
using Alias = Shop.Shared.Types;
global using Shop.Globals;

[assembly: InternalsVisibleTo("Tests")]

namespace Shop.Orders
{
    /// <summary>Orders.</summary>
    [Service, Obsolete("old")]
    public abstract partial class OrderService<T> : BaseService, IFinder<T> where T : class, IOrder, new()
    {
        public const int MaxLines = 200, Other = 3;
        private static readonly Dictionary<string, T> Cache =
            new();
        private readonly IStore store;
        public event EventHandler<OrderArgs>? Changed;
        public event Action Closed { add { Attach(value); } remove { } }

        public OrderService(IStore store) : base(store) => this.store = store;
        ~OrderService() { }

        public string Name { get; init; } = "orders";
        public int Count => store.CountAll();
        public T this[int index] { get => store.At(index); }

        [HttpGet("{id}")]
        public async Task<T?> FindAsync(string id, [FromQuery] bool all = false, CancellationToken token = default)
        {
            T Local(int x) => default;
            return await store.LoadAsync<T>(id, token);
        }

        public T Find(string id) => FindAsync(id).Result;
        public T Find(int id) { return Find(id.ToString()); }
        protected abstract void Visit<V>(V visitor) where V : IVisitor<T>;
        public static OrderService<T> operator +(OrderService<T> a, T b) => a.With(b);
        public static implicit operator string(OrderService<T> s) => s.Name;
        void IFinder<T>.Reset() { ResetAll(); }

        public enum Status : byte { Open, Done }
        private struct Point { public int X; public readonly double Length() => Sqrt(X); }

        public record Line(string Article, decimal Price) : IPriced
        {
            public decimal Total() => Price * Factor.Of(this);
        }
        public readonly record struct Pair<A, B>(A First, B Second);
        private class Outer { class Inner { void Go() { } } }
    }

    public interface IFinder<out F>
    {
        F Find(string id);
        int Limit { get; }
        void Reset() { }
    }

    public delegate bool Filter<in T>(T item);
}
