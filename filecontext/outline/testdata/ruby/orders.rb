# frozen_string_literal: true
require 'json'
require "active_support/core_ext"
require_relative 'shop/money'
require_relative "../lib/tax"
autoload :Store, 'shop/store'

module Shop
  MAX_LINES = 200
  DEFAULTS = {
    currency: 'EUR'
  }.freeze

  module Priced
    def price; raise NotImplementedError; end
  end

  class Order < Base::Record
    include Priced
    extend Forwardable
    attr_accessor :id, :lines
    attr_reader :total
    Point = Struct.new(:x, :y) do
      def length = Math.hypot(x, y)
    end

    class Error < StandardError; end

    class << self
      def load(id, store: Store.default)
        store.fetch_order(id)
      end

      private

      def build(*args, **opts, &block) = new(*args)
    end

    def self.all(filter = nil)
      load_all(filter)
    end

    def initialize(id, *lines)
      @id = id
      lines.each { |line| add_line(line) }
    end

    def total=(value)
      @total = Money.parse(value)
    end

    def <=>(other) = total <=> other.total
    def [](i) = @lines[i]
    def valid? = check_lines(@lines)

    private def secret(key)
      decrypt(key)
    end

    define_method(:dynamic) { |x| x }
    alias_method :size, :length
    alias count length

    protected

    def größe
      @lines.size
    end
  end

  class Order::Line; end
end

def helper(a, b = 1)
  a + b
end

if ENV['DEBUG']
  def debug(x) = puts(x)
end
