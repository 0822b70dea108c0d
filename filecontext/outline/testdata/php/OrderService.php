<?php
declare(strict_types=1);

namespace Shop\Orders;

use Shop\Money\Amount;
use Shop\Shared\{Base, Contracts\Finder as F, Text};
use function Shop\Helpers\format_price;
use const Shop\Config\LIMIT;

require_once __DIR__ . '/helpers.php';
include "legacy/$name.inc";

const MAX_LINES = 200;
define('OLD', 1);

interface Source extends \Countable, F
{
    const VERSION = '1';
    public function load(string $id): ?Order;
}

trait Logs
{
    protected function log(string $text): void { writeLog($text); }
}

enum Status: string implements HasLabel
{
    case Open = 'open';
    case Done = 'done';
    const DEFAULT = self::Open;
    public function label(): string { return ucfirst($this->value); }
}

#[Service(lazy: true)]
abstract class OrderService extends Base implements Source
{
    use Logs, Other { log as protected traitLog; }

    public const A = 1, B = 2;
    private static ?self $instance = null;

    public function __construct(
        private readonly Store $store, // where
        #[Inject] protected Amount $limit = new Amount(0),
    ) {
        parent::__construct();
    }

    #[Route('/find')]
    public static function find(int|string $id, ?callable $filter = null, Order ...$more): Order|null
    {
        $f = fn (Order $o): bool => $filter($o);
        return Registry::lookup($id, $f);
    }

    abstract protected function visit(Visitor $visitor): static;
    final public function &größe(): int { return $this->größe; }
}

function helper(array &$list): iterable
{
    function nested() {}
    yield from walk_lines($list);
}

if (!function_exists('polyfill')) {
    function polyfill() {}
}

$anonymous = new class extends OrderService {
    public function inner() {}
};
?>
<h1><?= $title ?></h1>
<?php
final readonly class Page { public function render(): string { return Template::of($this); } }
